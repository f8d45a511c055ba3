import { spawnSync } from 'node:child_process'
import { runInThisContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, edf, fp, rm } from '../../../rt.mjs'
import { ChannelError } from '../../../sync.mjs'
import { connect } from '../../../addons/connect.mjs'
import { AdmissionError, Workers } from '../../../addons/workers.mjs'
import { endpoints } from '../../fixtures/channels/fakes.mjs'
import { bundled } from '../../support/bundle.mjs'
import { crewOf } from '../../support/crew.mjs'
import { forSeeds, seeded, utilizations } from '../../support/seeded.mjs'
import { execute } from '../../support/virtual-host.mjs'
import { world } from '../../support/world.mjs'

/** @param {PromiseLike<any>} promise @returns {Promise<any>} */
const failure = promise => Promise.resolve(promise).then(value => {
  throw new Error(`expected a failure, got ${String(value)}`)
}, error => error)

/** A world with workers. Their works take time on the virtual host. */
function crew(options, more = () => ({})) {
  const here = world()
  const { host, scheduler, log } = here
  const works = {
    * execute(ms, value) {
      log.push(`${value} begins at ${host.time}`)
      yield* execute(host, ms)
      return value
    },
    ...more(here)
  }
  const made = crewOf(here, works, { size: 1, ...options })
  const spawn = (name, given, ...args) => made.workers.spawn(name, { scheduler, ...given }, ...args)
  return { ...here, ...made, spawn }
}

// --- jobs in workers

const jobs = suite('Workers: a job in a worker')

jobs('a job in a worker returns its result, its times and its cost', async () => {
  const { host, spawn, workers } = crew()
  await host.drain({ until: 10 })
  const job = spawn('execute', { deadline: 20 }, 5, 'a')
  assert.equal([job.name, job.state, job.release, job.absoluteDeadline], ['execute', 'ready', 10, 30])
  await host.drain()
  assert.is(await job, 'a')
  const { state, started, finished, cost, missed, lateness } = job
  assert.equal({ state, started, finished, cost, missed, lateness },
    { state: 'done', started: 11, finished: 16, cost: 5, missed: false, lateness: -14 })
  assert.is(workers.unfinished, 0)
})

jobs('an observer of the release can set the rank of a job in a worker', async () => {
  const { host, scheduler, spawn, sites } = crew()
  scheduler.observe(({ type, job }) => { if (type === 'release') Object.assign(job, { deadline: 50, priority: 2 }) })
  const job = spawn('execute', { deadline: 20 }, 5, 'a')
  const there = []
  sites[0].scheduler.observe(({ type, job }) => { if (type === 'start') there.push(job.absoluteDeadline, job.priority) })
  await host.drain()
  assert.equal([await job, job.absoluteDeadline, job.priority, ...there, host.errors], ['a', 50, 2, 50, 2, []])
})

jobs('other jobs and idle() wait for a job in a worker', async () => {
  const { host, scheduler, spawn } = crew()
  const job = scheduler.spawn(function* () {
    const a = yield spawn('execute', {}, 5, 'a')
    return a + (yield* spawn('execute', {}, 5, 'b'))
  })
  let isIdle = false
  scheduler.idle().then(() => { isIdle = true })
  await host.drain({ until: 10 })
  assert.is(isIdle, false)
  await host.drain()
  assert.is(await job, 'ab')
  assert.is(isIdle, true)
})

jobs('a job in a worker shows its state and its present cost', async () => {
  const { host, spawn } = crew()
  const job = spawn('execute', {}, 100, 'a')
  await host.drain({ until: 40 })
  assert.equal([job.state, job.started, job.cost > 0], ['running', 1, true])
  await host.drain()
  assert.is(job.state, 'done')
})

jobs('a job fails with the error of its work: class, stack, cause and properties', async () => {
  class Own extends Error { name = 'Own' }
  const errors = [
    Object.assign(new RangeError('no', { cause: new TypeError('why') }), { code: 7, list: [{ at: 1 }], no() {} }),
    new ChannelError('gone'), new Own('own'), new DOMException('stopped', 'AbortError'),
    new AggregateError([new RangeError('one'), 2], 'all'), 'a text', undefined
  ]
  const { host, spawn } = crew({}, () => ({ fail: index => { throw errors[index] } }))
  const got = errors.map((_, index) => failure(spawn('fail', {}, index)))
  await host.drain()
  const [range, gone, own, stopped, all, ...rest] = await Promise.all(got)
  assert.instance(range, RangeError)
  assert.instance(range.cause, TypeError)
  assert.equal([range.message, range.code, range.stack, range.cause.message], ['no', 7, errors[0].stack, 'why'])
  assert.equal([range.list, range.no], [[{ at: 1 }], undefined])
  assert.instance(gone, ChannelError)
  assert.equal([own.name, own.message, own.stack], ['Own', 'own', errors[2].stack])
  assert.ok(stopped instanceof DOMException && stopped.name === 'AbortError')
  assert.ok(all instanceof AggregateError && all.errors[0] instanceof RangeError)
  assert.equal([all.message, all.errors[0].message, all.errors[1]], ['all', 'one', 2])
  assert.equal(rest, ['a text', undefined])
})

jobs('a job fails if the work does not exist, or its result cannot be cloned', async () => {
  const { host, spawn } = crew({}, () => ({ symbol: () => Symbol('s') }))
  const got = ['nothing', 'toString', 'symbol'].map(name => failure(spawn(name)))
  await host.drain()
  const [nothing, inherited, symbol] = await Promise.all(got)
  assert.equal([nothing.message, inherited.name], ['nothing is not among the works, execute, symbol', 'TypeError'])
  assert.is(symbol.name, 'DataCloneError')
})

jobs('a job fails with its error, without properties that cannot be cloned', async () => {
  const errors = [
    Object.assign(new RangeError('symbol'), { code: Symbol('s') }), new RangeError('cause', { cause: () => {} }),
    Object.assign(new Error('no name'), { name: undefined }), () => {}
  ]
  const { host, spawn } = crew({}, () => ({ fail: index => { throw errors[index] } }))
  const got = errors.map((_, index) => failure(spawn('fail', {}, index)))
  await host.drain()
  const [symbol, cause, unnamed, thrown] = await Promise.all(got)
  assert.equal([symbol.message, symbol.stack, symbol.code], ['symbol', errors[0].stack, undefined])
  assert.equal([cause.message, cause.cause.name], ['cause', 'DataCloneError'])
  assert.equal([unnamed.message, thrown.name], ['no name', 'DataCloneError'])
})

jobs('an unhandled failure of a job in a worker is reported', async () => {
  const { host, spawn } = crew({}, () => ({ fail() { throw new Error('unseen') } }))
  spawn('fail')
  await host.drain()
  assert.equal(host.errors.map(String), ['Error: unseen'])
})

jobs('cancel throws the reason at the yield of the work, and waits for its finally', async () => {
  const { host, log, spawn } = crew({}, ({ host }) => ({
    * tidy() {
      try {
        yield new Promise(() => {})
      } finally {
        yield* execute(host, 7)
        log.push(`tidied at ${host.time}`)
      }
    },
    * stay() {
      try {
        yield new Promise(() => {})
      } catch (reason) {
        return `told of ${reason}`
      }
    }
  }))
  const controller = new AbortController()
  const [tidy, stay] = [spawn('tidy', { signal: controller.signal }), spawn('stay')]
  await host.drain({ until: 30 })
  const reason = { is: 'this very one' }
  controller.abort(reason)
  assert.ok(stay.cancel('it'))
  assert.not(stay.cancel('again'))
  assert.is(tidy.state, 'waiting')
  await host.drain()
  assert.is(await failure(tidy), reason)
  assert.is(await stay, 'told of it')
  assert.equal([tidy.state, stay.state, log], ['cancelled', 'done', ['tidied at 38']])
})

jobs('a job that is cancelled before it is sent, or by an aborted signal, never starts', async () => {
  const { host, log, spawn } = crew()
  const all = Array.from({ length: 20 }, (_, i) => spawn('execute', {}, 10, i))
  all[19].cancel('late')
  all.push(spawn('execute', { signal: AbortSignal.abort('never') }, 1, 20))
  const pending = spawn('execute', { release: 1000, deadline: 1 }, 1, 'x')
  assert.equal([await failure(all[19]), await failure(all[20])], ['late', 'never'])
  await host.drain({ until: 20 })
  pending.cancel('pending')
  await host.drain()
  assert.equal([await failure(pending), pending.state, pending.started, pending.cost], ['pending', 'cancelled', undefined, 0])
  assert.is(log.length, 19)
})

jobs('a job moves in its queue, here or in a worker, when its rank changes', async () => {
  for (const [policy, key, values] of [[edf, 'deadline', [500, 400, 5]], [fp, 'priority', [1, 2, 3]]]) {
    const { host, log, spawn } = crew({ policy })
    const all = Array.from({ length: 20 }, (_, i) => spawn('execute', {}, 10, i))
    await host.drain({ until: 3 })
    const [there, here] = [all[2], all[18]]
    there[key] = values[1]
    here[key] = values[0]
    all[19][key] = values[2]
    await host.drain()
    const order = log.map(line => Number(line.split(' ')[0]))
    assert.is(order[0], 0)
    assert.ok(order.indexOf(19) < order.indexOf(2) || order.indexOf(2) < 4, String(order))
    assert.ok(order.indexOf(18) < 8, String(order))
    assert.equal(order.filter(i => ![2, 18, 19].includes(i)).toSorted((a, b) => a - b), order.filter(i => ![2, 18, 19].includes(i)))
  }
})

jobs('an observer can set a deadline that the job then misses', async () => {
  const { host, scheduler, spawn } = crew()
  scheduler.observe(({ type, job }) => { if (type === 'release') job.deadline = 5 })
  const job = spawn('execute', {}, 10, 'a')
  await host.drain()
  assert.equal([await job, job.missed, host.errors], ['a', true, []])
})

jobs('a job in a worker reports its miss, and `miss: \'abort\'` cancels it', async () => {
  const { host, scheduler, log, spawn } = crew({}, ({ host, log }) => ({
    * heedless() {
      try {
        yield* execute(host, 30)
      } finally {
        log.push(`ended at ${host.time}`)
      }
    }
  }))
  const onMiss = job => log.push(`missed ${job.name} at ${host.time}`)
  const late = spawn('execute', { deadline: 4, onMiss }, 6, 'late')
  const aborted = spawn('heedless', { deadline: 20, miss: 'abort', onMiss })
  await host.drain()
  assert.is(await late, 'late')
  assert.is((await failure(aborted)).name, 'DeadlineError')
  assert.equal([late.missed, late.lateness, aborted.missed, aborted.state], [true, 3, true, 'cancelled'])
  assert.equal(log, ['late begins at 1', 'missed execute at 7', 'ended at 21', 'missed heedless at 22'])
  assert.is(scheduler.stats().misses, 2)
})

jobs('a job in a worker counts from the given release', async () => {
  const { host, spawn } = crew()
  await host.drain({ until: 10 })
  const [past, future] = [spawn('execute', { release: 4, deadline: 10 }, 1, 'a'), spawn('execute', { release: 40 }, 1, 'b')]
  assert.equal([past.state, future.state], ['ready', 'pending'])
  await host.drain()
  assert.equal([past.release, past.absoluteDeadline, past.started], [4, 14, 11])
  assert.equal([future.release, future.started], [40, 40])
})

jobs('arguments are copied at the spawn, and large buffers are transferred', async () => {
  const { host, spawn } = crew({}, () => ({ sum: (list, bytes) => list.reduce((a, b) => a + b) + bytes.length }))
  const list = [1, 2]
  const bytes = Array.from({ length: 9 }, () => new Uint8Array(2 ** 16))
  const all = bytes.map(one => spawn('sum', {}, list, one))
  list.push(1000)
  const copied = new Uint8Array(2 ** 16)
  all.push(spawn('sum', { transfer: [] }, list, copied))
  await host.drain()
  assert.equal(await Promise.all(all), [...bytes.map(() => 3 + 2 ** 16), 1003 + 2 ** 16])
  assert.equal([...bytes.map(({ length }) => length), copied.length], [...bytes.map(() => 0), 2 ** 16])
})

jobs('objects arrive as clones of their state at the spawn, even for held jobs', async () => {
  class Own { is = 'own' }
  const { host, spawn } = crew({}, () => ({
    look: (flat, own, nested, same, dated) => [flat, own.constructor.name, nested, flat === same, dated.at instanceof Date]
  }))
  const all = Array.from({ length: 12 }, (_, i) => {
    const given = { i, text: 'flat', get: undefined, [Symbol('s')]: 1, get read() { return i } }
    const nested = { list: [i] }
    const job = spawn('look', {}, given, new Own(), nested, given, { at: new Date(i) })
    const flat = spawn('look', {}, given, {}, 1, given, {})
    given.i = given.text = nested.list[0] = 'changed'
    return [job, flat]
  })
  assert.throws(() => spawn('look', {}, { no() {} }), ({ name }) => name === 'DataCloneError')
  await host.drain()
  for (const [i, [job, flat]] of all.entries()) {
    const copy = { i, text: 'flat', get: undefined, read: i }
    assert.equal(await job, [copy, 'Object', { list: [i] }, true, true])
    assert.equal(await flat, [copy, 'Object', 1, true, false])
  }
})

jobs('a buffer that was transferred before or is listed twice is rejected', async () => {
  const { host, spawn, workers } = crew({}, () => ({ size: ({ length }) => length }))
  for (const options of [{}, { restart: 1 }]) {
    const bytes = new Uint8Array(2 ** 16)
    assert.throws(() => spawn('size', { ...options, transfer: [bytes.buffer, bytes.buffer] }, bytes), ({ name }) => name === 'DataCloneError')
    const first = spawn('size', { ...options, transfer: [bytes.buffer] }, bytes)
    assert.throws(() => spawn('size', options, bytes), ({ name }) => name === 'DataCloneError')
    assert.is(workers.unfinished, 1)
    await host.drain()
    assert.is(await first, 2 ** 16)
  }
})

jobs('a job that has ended does not start again when its deadline is set', async () => {
  const { host, spawn, workers, log } = crew()
  const all = Array.from({ length: 20 }, (_, i) => spawn('execute', {}, 10, i))
  all[19].cancel('before it was sent') // all others rank before this job
  failure(all[19])
  await host.drain()
  for (const job of all) {
    job.deadline = 5
    assert.not(job.cancel('late'))
  }
  await host.drain()
  assert.equal([log.length, workers.unfinished, all[0].state, all[19].state], [19, 0, 'done', 'cancelled'])
})

jobs('a result is copied when its job ends', async () => {
  const list = []
  const { host, spawn } = crew({}, () => ({ grow: () => (list.push(0), list) }))
  const all = [1, 2, 3].map(() => spawn('grow'))
  await host.drain()
  assert.equal((await Promise.all(all)).map(({ length }) => length), [1, 2, 3])
})

jobs('invalid options are rejected at the call, and leave no job', () => {
  const { spawn, workers } = crew()
  assert.throws(() => spawn('execute', { dedline: 5 }), /unknown option 'dedline'; known are deadline, /)
  assert.throws(() => spawn('execute', { deadline: -1 }), /deadline must be a number > 0, got -1/)
  assert.throws(() => spawn('execute', { budget: 0 }), /budget must be/)
  assert.throws(() => spawn(execute), /name must be a string/)
  assert.throws(() => spawn('execute', {}, () => {}), error => error.name === 'DataCloneError')
  assert.throws(() => new Workers('x', { policy: { ...edf } }), /policy must be edf, fp or rm/)
  assert.throws(() => new Workers('x', { size: 0 }), /size must be an integer >= 1/)
  assert.throws(() => new Workers('x', { slice: 0 }), /slice must be a number > 0, got 0/)
  assert.throws(() => new Workers('x', { budget: '9' }), /budget must be an integer >= 1 or 'auto', got "9"/)
  assert.throws(() => new Workers(5), /url must be an address or a function, got 5/)
  assert.is(workers.unfinished, 0)
})

jobs('in a bundle that is not a module, `new Workers` rejects an address', () => {
  const script = bundled(['addons/workers.mjs'], ['Workers']).replaceAll(/\(\{ url: '[^']*' \}\)/g, '({})')
  const { Workers } = runInThisContext(script)
  assert.throws(() => new Workers('./works.mjs'), /^in a bundle, url must be a function that makes a worker/)
})

// --- placement

const places = suite('Workers: placement')

/** The contents of one kind in each message from or to a worker. */
const saidTo = ({ log }, kind) => log.map(({ message: [, ...said] }) => said.filter(one => one[0] === kind).map(one => one[1]))
  .filter(({ length }) => length > 0)

const refused = error => error instanceof AdmissionError

/** The works that started in each worker. */
const placesOf = async ({ host, sites }) => {
  await host.drain()
  return sites.map(site => saidTo(site, 'start').flat().map(start => start[3][1]).join(''))
}

places('a job with wcet and period goes to the first worker that can meet all deadlines', async () => {
  const here = crew({ size: 3 })
  for (const [value, wcet] of [['a', 6], ['b', 6], ['c', 3], ['d', 4], ['e', 7]]) {
    here.spawn('execute', { wcet, period: 10 }, wcet, value)
  }
  assert.equal(await placesOf(here), ['ac', 'bd', 'e'])
})

places('a job that no worker has time for is rejected with the sums, others continue', async () => {
  const here = crew({ size: 2, policy: fp })
  const spawn = (value, wcet, period) => here.spawn('execute', { wcet, period, priority: -period, name: value }, 1, value)
  spawn('a', 6, 10)
  spawn('b', 3, 5)
  assert.throws(() => spawn('c', 5, 10), error => {
    assert.instance(error, AdmissionError)
    assert.equal(error.sums, { utilization: 0.5, demand: 1.1, bound: 1, share: 1, test: 'schedulable' })
    return error.message === 'c asks for 50 %, for which no worker has time beside 60 %, 60 % (schedulable, fp, share 1)'
  })
  spawn('d', 4, 10)
  assert.equal(await placesOf(here), ['ad', 'b'])
})

places('promised time is kept for the next job with these parameters, then for others', async () => {
  const { host, spawn, workers } = crew({ size: 1 })
  const task = { wcet: 6, period: 10 }
  const other = { wcet: 5, period: 10 }
  const long = spawn('execute', { wcet: 3, period: 100, deadline: 100 }, 3, 'long')
  const first = spawn('execute', task, 1, 'a')
  await host.drain({ until: 8 })
  assert.equal([first.state, long.state, workers.unfinished], ['done', 'done', 0])
  const second = spawn('execute', task, 1, 'b')
  assert.is(second.release, 8) // no other job is left to be delayed
  await host.drain({ until: 11 })
  assert.throws(() => spawn('execute', other, 1, 'c'), refused)
  await host.drain({ until: 18 })
  const third = spawn('execute', other, 1, 'c')
  assert.throws(() => spawn('execute', task, 1, 'd'), refused)
  await host.drain()
  assert.is(third.state, 'done')
})

places('a job that arrives too early is released at the end of its period', async () => {
  const { host, spawn } = crew({ size: 1 })
  spawn('execute', { wcet: 30, period: 100 }, 30, 'long')
  const task = { wcet: 2, period: 20 }
  spawn('execute', task, 2, 'a')
  await host.drain({ until: 15 })
  assert.is(spawn('execute', task, 2, 'b').release, 20)
})

places('a job that is rejected or already aborted gets no promised time', () => {
  const { spawn } = crew({ size: 1 })
  spawn('execute', { wcet: 50, period: 100 }, 50, 'long')
  for (const wcet of [5, 45]) {
    const task = { wcet, period: 100 }
    assert.throws(() => spawn('execute', { ...task, miss: 'never' }), /miss must be/)
    assert.throws(() => spawn('execute', task, Symbol('x')), error => error.name === 'DataCloneError')
    spawn('execute', { ...task, signal: AbortSignal.abort() }).catch(() => {})
  }
  for (const wcet of [5, 44]) assert.is(spawn('execute', { wcet, period: 100 }).release, 0)
})

places('`admit` limits the promised share, and `admit: false` rejects nothing', () => {
  assert.throws(() => crew({ admit: 0.5 }).spawn('execute', { wcet: 6, period: 10 }), /share 0.5/)
  assert.throws(() => crew({ admit: 0 }), /admit must be a number > 0 and <= 1/)
  const { spawn } = crew({ admit: false })
  for (let i = 0; i < 3; i++) spawn('execute', { wcet: 6, period: 10 }, 1, i)
})

places('a job without wcet and period goes to the worker that is free first', async () => {
  const here = crew({ size: 2 })
  const spawn = (value, wcet, deadline) => here.spawn('execute', { wcet, deadline }, wcet, value)
  spawn('a', 9, 90)
  spawn('b', 4, 80)
  spawn('c', 4, 100) // after b
  spawn('d', 1, 85) // before a
  assert.equal(await placesOf(here), ['ad', 'bc'])
})

places('partition() returns the same placement in advance', () => {
  const tasks = [6, 6, 3, 4, 7].map(wcet => ({ wcet, period: 10 }))
  assert.equal(Workers.partition(tasks, { size: 3 }), [0, 1, 0, 1, 2])
  assert.throws(() => Workers.partition(tasks, { size: 2 }), refused)
  assert.throws(() => Workers.partition(tasks, { size: 1.5 }), /size must be an integer/)
  assert.throws(() => Workers.partition(5), /^tasks must be an array, got 5/)
  assert.throws(() => Workers.partition([tasks[0], null]), /^tasks\[1\] must be an object, got null/)
  assert.throws(() => Workers.partition([{ wcet: 1, period: 0 }]), /^tasks\[0\]\.period must be a finite number > 0, got 0/)
})

places('all admitted sets meet all deadlines, under every policy', () => forSeeds(60, random => {
  for (const policy of [edf, fp, rm]) {
    const size = random.integer(1, 4)
    const periods = [4, 5, 8, 10, 20, 40]
    const tasks = utilizations(random, random.integer(size, 5 * size), random.real(0.5, 1) * size).flatMap(part => {
      const period = random.pick(periods)
      const wcet = Math.max(1, Math.round(part * period))
      return wcet > period ? [] : [{ wcet, period, deadline: random.integer(wcet, period), priority: random.integer(0, 3) }]
    })
    const placed = tasks.map(() => -1)
    const sums = Array(size).fill(0)
    for (let count = 1; count <= tasks.length; count++) {
      try {
        Workers.partition(tasks.slice(0, count), { size, policy }).forEach((core, index) => { placed[index] = core })
      } catch (error) {
        assert.instance(error, AdmissionError)
        assert.ok(error.demand > 0 && error.utilization === tasks[count - 1].wcet / tasks[count - 1].period)
        break
      }
    }
    for (let core = 0; core < size; core++) {
      const { host, scheduler } = world({ policy, slice: Infinity, round: Infinity })
      tasks.forEach((task, index) => {
        if (placed[index] !== core) return
        sums[core] += task.wcet / task.period
        for (let release = 0; release < 80; release += task.period) {
          scheduler.spawn(execute(host, task.wcet), { ...task, release })
        }
      })
      host.run()
      assert.is(scheduler.stats().misses, 0)
      assert.ok(sums[core] <= 1 + 1e-9)
    }
  }
}))

// --- load

const loads = suite('Workers: load')

loads('results of one round share a message, and results with a deadline do not wait', async () => {
  for (const [options, messages] of [[{}, [1, 2]], [{ deadline: 100 }, [1, 1, 1]]]) {
    const { host, spawn, sites } = crew({ size: 1 })
    for (const ms of [4, 1, 1]) spawn('execute', options, ms)
    await host.drain()
    assert.equal(saidTo(sites[0], 'ended').map(({ length }) => length), messages)
  }
})

loads('10 000 jobs wait in this thread, in order, and each worker has only a few', async () => {
  const { host, spawn, sites, workers } = crew({ size: 2 })
  const all = Array.from({ length: 10_000 }, (_, i) => spawn('execute', { deadline: 20_000 + i }, 0, i))
  assert.ok(sites.every(({ log }) => log.length < 80))
  await host.drain()
  assert.equal(await Promise.all(all), all.map((_, i) => i))
  assert.is(workers.unfinished, 0)
})

loads('spawn throws above the limit, and ready() waits for room', async () => {
  const { host, scheduler, spawn, workers, log } = crew({ limit: 3 })
  scheduler.spawn(function* () {
    for (let i = 0; i < 7; i++) {
      yield workers.ready()
      spawn('execute', {}, 5, i)
    }
  })
  await host.drain({ until: 2 })
  assert.is(workers.unfinished, 3)
  assert.throws(() => spawn('execute', {}, 5, 'x'), /more than 3 jobs/)
  await host.drain()
  assert.is(log.length, 7)
})

loads('a job that waits for room need not use it: the next waiter is woken as well', async () => {
  const { host, scheduler, spawn, workers, log } = crew({ limit: 1 })
  const items = [0, 1, 2]
  const producers = Array.from({ length: 4 }, () => scheduler.spawn(function* () {
    for (;;) {
      yield workers.ready()
      if (items.length === 0) return 'done'
      spawn('execute', {}, 5, items.shift())
    }
  }))
  await host.drain()
  assert.equal([log.length, producers.map(({ state }) => state)], [3, Array(4).fill('done')])
})

loads('a job that waits for room is not woken while other jobs take all room', async () => {
  const { host, scheduler, spawn, workers, log } = crew({ limit: 1 })
  spawn('execute', {}, 5, 'first')
  const producers = ['a', 'b', 'c'].map(name => scheduler.spawn(function* () {
    yield workers.ready()
    spawn('execute', {}, 50, name)
  }))
  await host.drain()
  assert.equal([log.length, producers.map(({ state }) => state)], [4, Array(3).fill('done')])
})

// --- the end of workers

const ends = suite('Workers: ends')

ends('close() waits for all jobs, and spawn then throws', async () => {
  const { host, spawn, workers, sites } = crew({ size: 2 })
  const all = Array.from({ length: 20 }, (_, i) => spawn('execute', {}, 5, i))
  const closed = workers.close()
  assert.throws(() => spawn('execute'), /the workers have been closed/)
  await host.drain()
  await closed
  assert.is((await Promise.all(all)).length, 20)
  assert.ok(sites.every(({ scheduler }) => scheduler.paused))
})

ends('close({ cancel: true }) cancels all jobs', async () => {
  const { host, spawn, workers, log } = crew()
  const all = Array.from({ length: 20 }, (_, i) => spawn('execute', {}, 50, i))
  await host.drain({ until: 10 })
  const closed = workers.close({ cancel: true })
  await host.drain()
  await closed
  const errors = await Promise.all(all.map(failure))
  assert.ok(errors.every(({ name }) => name === 'AbortError'))
  assert.ok(log.length < 20)
})

ends('a job that ignores its cancellation by close() ends a second later', async () => {
  const { host, spawn, workers } = crew({}, () => ({ never: () => new Promise(() => {}) }))
  const job = spawn('never')
  await host.drain({ until: 10 })
  const closed = workers.close({ cancel: true })
  await host.drain({ until: 1000 })
  assert.is(job.state, 'waiting')
  await host.drain({ until: 1100 })
  await closed
  assert.is((await failure(job)).name, 'AbortError')
})

ends('close() ends a worker that never answers, and its jobs', async () => {
  const { host, scheduler } = world()
  let ended = 0
  const deaf = () => ({ postMessage() {}, addEventListener() {}, removeEventListener() {}, terminate() { ended++ } })
  const workers = new Workers(deaf, { size: 2, restart: true })
  const got = Array.from({ length: 30 }, () => failure(workers.spawn('execute', { scheduler })))
  await host.drain({ until: 10 })
  const closed = workers.close({ cancel: true })
  await host.drain({ until: 1100 })
  await closed
  assert.ok((await Promise.all(got)).every(({ name }) => name === 'AbortError'))
  assert.is(ended, 2)
})

ends('a worker that dies fails its jobs with the reason, and the next job gets another', async () => {
  const { host, spawn, sites } = crew()
  const job = spawn('execute', {}, 50, 'a')
  const cancelled = spawn('execute', {}, 50, 'b')
  await host.drain({ until: 10 })
  cancelled.cancel('no more')
  sites[0].kill()
  const [error] = await Promise.all([failure(job), host.drain({ until: 40 })])
  assert.instance(error, ChannelError)
  assert.is(error.message, 'execute: its worker has gone (closed)')
  assert.is(await failure(cancelled), 'no more')
  const next = spawn('execute', {}, 1, 'c')
  await host.drain()
  assert.equal([await next, sites.length], ['c', 2])
})

ends('if one of the first workers cannot be made, the earlier ones are ended', () => {
  const ended = []
  const made = []
  const make = () => {
    if (made.length === 2) throw new RangeError('no more workers')
    const { a } = endpoints('postMessage, addEventListener', {})
    a.terminate = () => ended.push(a)
    made.push(a)
    return a
  }
  assert.throws(() => new Workers(make, { size: 3 }), /no more workers/)
  assert.equal(ended.length, 2)
})

ends('works that cannot be loaded fail all jobs, despite restart', async () => {
  const { host, spawn } = crew({ restart: true }, () => ({ then: (done, failed) => failed(new SyntaxError('not a module')) }))
  const error = await Promise.all([failure(spawn('execute')), host.drain()]).then(([error]) => error)
  assert.is(error.message, 'execute: its worker has gone (its works could not be loaded)')
  assert.instance(error.cause, SyntaxError)
})

ends('works that are not an object, or reject with a function, fail all jobs', async () => {
  for (const [works, expected] of [[null, /works must be an object, got null/], [undefined, /works must be an object, got undefined/],
    [{ then: (done, failed) => failed(() => {}) }, /could not be cloned/]]) {
    const { host, scheduler } = world()
    const { a, b } = endpoints('postMessage, addEventListener', { clock: host })
    Workers.serve(works, { endpoint: b, scheduler: new Scheduler({ host }) })
    const workers = new Workers(() => a, { size: 1, restart: true })
    const got = failure(workers.spawn('execute', { scheduler }))
    await host.drain()
    const error = await got
    assert.is(error.message, 'execute: its worker has gone (its works could not be loaded)')
    assert.match(error.cause.message, expected)
  }
})

ends('a worker that dies within `begin` or `start` counts for restart', async () => {
  for (const kind of ['begin', 'start']) {
    for (const [restart, deaths, isDone] of [[2, 2, true], [2, 3, false], [0, 1, false]]) {
      let left = 0
      const { host, spawn, workers, sites } = crew({
        restart, heard: ([, [said]], site) => { if (said === kind && left-- > 0) site.kill(true) }
      })
      sites[0].kill(true)
      left = deaths
      const all = Array.from({ length: 20 }, (_, i) => spawn('execute', {}, 5, i))
      for (const job of all) job.catch(() => {})
      const [first] = await Promise.all([all[0].catch(error => error), host.drain()])
      if (isDone) assert.equal(await Promise.all(all), all.map((_, i) => i))
      else assert.instance(first, ChannelError)
      assert.is(workers.unfinished, 0)
    }
  }
})

ends('a job that restarts gets its buffers again', async () => {
  const { host, spawn, sites } = crew({ restart: 2 }, ({ host }) => ({
    * size(...all) {
      yield* execute(host, 20)
      return all.map(({ byteLength }) => byteLength)
    }
  }))
  const [bytes, other] = [new Uint8Array(2 ** 16), new Uint8Array(9)]
  const job = spawn('size', { transfer: [other.buffer] }, bytes, other)
  assert.equal([bytes.length, other.length], [2 ** 16, 0])
  for (let i = 0; i < 2; i++) {
    await host.drain({ until: host.time + 10 })
    sites.at(-1).kill()
  }
  await host.drain()
  assert.equal(await job, [2 ** 16, 9])
})

ends('`restart` is the maximum number of restarts of a job', async () => {
  for (const [restart, given, times] of [[2, {}, 3], [true, { restart: 1 }, 2], [false, { restart: true }, 4], [0, {}, 1]]) {
    const { host, spawn, sites, log } = crew({ restart })
    const job = spawn('execute', given, 20, [1, 2])
    for (let i = 0; i < 3; i++) {
      await host.drain({ until: host.time + 10 })
      sites.at(-1).kill()
    }
    await host.drain()
    assert.is(log.length, times)
    if (times === 4) assert.equal(await job, [1, 2])
    else assert.instance(await failure(job), ChannelError)
  }
})

/**
 * A random run of the protocol: some jobs have promised time, are held, change their rank, or are cancelled.
 *
 * @param {ReturnType<typeof seeded>} random @param {number | boolean} restart
 * @param {(messages: number) => boolean} isKilled whether to kill the sender or receiver of a message
 * @returns {Promise<number>} the number of messages
 */
async function runKilled(random, restart, isKilled) {
  let messages = 0
  const heard = (message, site) => { if (isKilled(++messages)) site?.kill((messages + random.seed) % 2 === 0) }
  const { host, scheduler, spawn, workers, log } = crew({ size: random.integer(1, 2), heard, restart, delay: random.pick([0.1, 1, 3]) })
  const all = Array.from({ length: random.integer(3, 12) }, (_, i) => {
    const options = random.chance(0.3) ? { deadline: random.integer(1, 200) } : random.chance(0.3) ? { wcet: 1, period: 1000 } : {}
    return spawn('execute', options, random.integer(0, 6), i)
  })
  let ended = 0
  for (const job of all) job.finally(() => ended++).catch(() => {})
  for (const job of all.filter(() => random.chance(0.3))) host.after(random.integer(0, 60), () => {
    if (random.chance(0.5)) job.deadline = random.integer(1, 100)
    else job.cancel('enough')
  })
  let isReady = false
  workers.ready().then(() => { isReady = true })
  await host.drain()
  await scheduler.idle()
  const outcomes = await Promise.all(all.map(job => job.catch(error => error)))
  outcomes.forEach((outcome, i) => {
    if (outcome !== i && outcome !== 'enough') assert.ok(!restart && outcome instanceof ChannelError, String(outcome))
  })
  assert.equal([ended, workers.unfinished, isReady], [all.length, 0, true])
  if (!restart) assert.is(new Set(log.map(line => line.split(' ')[0])).size, log.length)
  return messages
}

for (const restart of [false, true]) {
  // SEEDS=1000 runs all cases, in some minutes.
  ends(`after a kill at each single message, no job is lost or ends twice${restart ? ', and all are done' : ''}`, () => forSeeds(4, async random => {
    const again = () => seeded(random.seed)
    const messages = await runKilled(again(), restart, () => false)
    for (let at = 1; at <= messages; at++) {
      await runKilled(again(), restart, message => message === at).catch(error => {
        throw Object.assign(error, { message: `killed at message ${at}: ${error.message}` })
      })
    }
  }))

  ends(`workers killed at several messages${restart ? ', and started again' : ''} lose no job`, () => forSeeds(20, async random => {
    const kills = new Set(Array.from({ length: 3 }, () => random.integer(1, 60)))
    await runKilled(random, restart, message => kills.has(message))
  }))
}

// --- records of all workers

const records = suite('Workers: records')

records('observe and stats report all workers, on one time base', async () => {
  const { host, spawn, workers } = crew({ size: 2 })
  const got = []
  const { workers: began, ...none } = workers.stats()
  assert.is(began.length, 2)
  for (const stats of [none, ...began]) assert.equal([...new Set(Object.values(stats))], [0])
  const stop = workers.observe(({ type, time, job, worker }) => {
    if (type !== 'round') got.push(`${worker} ${time} ${type} ${job.name}`)
  })
  await host.drain({ until: 10 })
  const all = ['a', 'b'].map(name => spawn('execute', { name, wcet: 2 }, 1, name))
  await host.drain()
  await Promise.all(all)
  host.run({ until: host.time + 50 })
  assert.equal(got.filter(line => line[0] === '0'), ['0 11 release a', '0 11 start a', '0 12 finish a'])
  assert.equal(got.filter(line => line[0] === '1'), ['1 12 release b', '1 12 start b', '1 13 finish b'])
  const { jobs, busy, longestBudget, workers: each } = workers.stats()
  assert.equal({ jobs, busy, longestBudget, each: each.map(({ jobs }) => jobs) }, { jobs: 2, busy: 2, longestBudget: 1, each: [1, 1] })
  stop()
  spawn('execute', {}, 2, 'c')
  await host.drain()
  host.run({ until: host.time + 50 })
  assert.is(got.length, 6)
})

records('an observer that throws is reported, and the others are called', async () => {
  const { host, scheduler, spawn, workers } = crew()
  const got = []
  scheduler.spawn(() => {
    workers.observe(({ type }) => { throw new Error(type) })
    workers.observe(({ type }) => got.push(type))
  })
  await host.drain()
  spawn('execute', {}, 1)
  await host.drain()
  host.run({ until: host.time + 50 })
  assert.ok(got.includes('finish'))
  assert.equal(host.errors.map(({ message }) => message), got)
})

// --- threads of Node

const threads = suite('Workers: threads')
const works = new URL('../../fixtures/workers/works.mjs', import.meta.url)

/** @param {(workers: Workers) => Promise<void>} body @param {object} [options] */
const withThreads = async (body, options) => {
  const workers = new Workers(works, { size: 2, ...options })
  await body(workers)
  await workers.close({ cancel: true })
}

threads('results, errors, buffers and progress travel between threads', () => withThreads(async workers => {
  assert.is(await workers.spawn('add', {}, 3, 4), 7)
  const error = await failure(workers.spawn('refuse', {}, 7))
  assert.instance(error, RangeError)
  assert.match(error.stack, /refused\n.*works\.mjs/)
  assert.equal([error.code, error.cause.message], [7, 'why'])
  const bytes = new Uint8Array(1e6).fill(4)
  const doubled = await workers.spawn('doubled', {}, bytes)
  assert.equal([bytes.length, doubled.length, doubled[9]], [0, 1e6, 8])
  const { port1, port2 } = new MessageChannel()
  const job = workers.spawn('progress', {}, port2, 5)
  const steps = []
  for await (const step of connect(port1, 'progress')) steps.push(step)
  assert.equal([steps, await job], [[1, 2, 3, 4, 5], 'done'])
  assert.match((await failure(workers.spawn('nothing'))).message, /nothing is not among the works/)
}))

const preemptified = {
  'the option preemptify': () => new Workers(works, { size: 1, preemptify: true }),
  'preemptify.import': () => new Workers(() => new Worker(new URL('preemptified.mjs', works)), { size: 1 })
}
for (const [by, make] of Object.entries(preemptified)) {
  threads(`works preemptified by ${by} are preempted, and can be cancelled`, async () => {
    const workers = make()
    const jobs = ['count', 'countAtOnce', 'never'].map(name => workers.spawn(name, {}, Infinity))
    while (!jobs.every(({ started }) => started > 0)) await new Promise(resolve => setTimeout(resolve))
    assert.is(await workers.spawn('countAtOnce', { deadline: 1e6 }, 1e5), 4999950000)
    for (const job of jobs) job.cancel('enough')
    assert.equal(await Promise.all(jobs.map(failure)), ['enough', 'enough', 'enough'])
    await workers.close()
  })
}

for (const how of ['exit', 'throw']) {
  threads(`the end of a worker by ${how} is detected, and its jobs can restart elsewhere`, () => withThreads(async workers => {
    const ends = workers.spawn('end', { restart: 1 }, how)
    const other = workers.spawn('count', { restart: true }, 1e6)
    const error = await failure(ends)
    assert.instance(error, ChannelError)
    assert.match(error.message, how === 'exit' ? /exit code 3/ : /an error was not handled/)
    if (how === 'throw') assert.is(error.cause.message, 'thrown on purpose')
    assert.is(await other, 499999500000)
  }))
}

threads('a job with an argument that cannot be cloned does not restart, and names it', () => withThreads(async workers => {
  for (const isListed of [false, true]) {
    const { port1, port2 } = new MessageChannel()
    const done = workers.spawn('progress', isListed ? { transfer: [port2] } : {}, port2, 3)
    assert.is(await connect(port1, 'progress').receive(), 1)
    port1.close()
    await failure(done)
    const ports = new MessageChannel()
    const ends = workers.spawn('end', isListed ? { transfer: [ports.port2] } : {}, 'exit', { of: ports.port2 })
    const error = await failure(ends)
    assert.instance(error, ChannelError)
    assert.match(error.message, /^end: its worker has gone \(.*exit code 3\), and with it the MessagePort that was transferred: it is not started again$/)
    ports.port1.close()
  }
}, { restart: true }))

threads('threads terminated at any message lose no job, with or without restart', async () => {
  for (const [at, restart] of [1, 2, 3, 5, 8, 13].flatMap(at => [[at, 0], [at, 2]])) {
    let messages = 0
    const make = () => {
      const thread = new Worker(new URL('../../fixtures/workers/thread.mjs', import.meta.url))
      return thread.on('message', () => { if (++messages === at) thread.terminate() })
    }
    const workers = new Workers(make, { size: 2, restart })
    const jobs = Array.from({ length: 30 }, (_, i) => workers.spawn('count', { deadline: 1e6 }, 1000 * i).catch(error => error))
    const outcomes = await Promise.all(jobs)
    outcomes.forEach((outcome, i) =>
      assert.ok(outcome === 500 * i * (1000 * i - 1) || !restart && outcome instanceof ChannelError, String(outcome)))
    assert.ok(messages > at)
    await workers.close()
  }
})

threads('a module that cannot be loaded fails its jobs', async () => {
  const workers = new Workers(new URL('nothing.mjs', works), { size: 1, restart: true })
  const error = await failure(workers.spawn('add'))
  assert.match(error.message, /add: its worker has gone \(its works could not be loaded\)/)
  assert.match(error.cause.message, /nothing\.mjs/)
  await workers.close()
})

threads('workers keep Node alive while a job lives, and no longer', () => {
  const script = `import { Workers } from '${new URL('../../../addons/workers.mjs', import.meta.url)}'
    const workers = new Workers('${works}')
    workers.spawn('add', {}, 1, 2).then(console.log)`
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 60_000 })
  assert.equal([String(stdout), status], ['3\n', 0])
})

jobs.run()
places.run()
loads.run()
ends.run()
records.run()
threads.run()
