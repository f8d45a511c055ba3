/** Tests arguments of works: `run`, values that cannot be cloned, transferred objects, disposal. */
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task } from '../../../rt.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { Workers } from '../../../addons/workers.mjs'
import { Barrier, Channel, Mutex, Resource, Semaphore } from '../../../sync.mjs'
import { crewOf } from '../../support/crew.mjs'
import { execute } from '../../support/virtual-host.mjs'
import { world } from '../../support/world.mjs'

/** A pool of one worker in this thread. */
function crew(works = {}, options = {}) {
  const here = world()
  const made = crewOf(here, {
    add: (a, b) => a + b,
    kindOf: value => Object.prototype.toString.call(value),
    * busy(ms) { yield* execute(here.host, ms) },
    ...works
  }, { size: 1, ...options })
  return { ...here, ...made, spawn: (name, ...args) => made.workers.spawn(name, { scheduler: here.scheduler }, ...args) }
}

const run = suite('workers.run')

run('run.NAME(...args) releases a job like spawn without options', async () => {
  const { workers, host } = crew()
  const job = workers.run.add(2, 3)
  assert.is(job.name, 'add')
  const result = job.then(value => value)
  await host.drain()
  assert.is(await result, 5)
})

run('a function of run can be called later, without its object', async () => {
  const { workers, host } = crew()
  const { add } = workers.run
  const job = add(1, 2)
  assert.is(job.name, 'add')
  const result = job.then(value => value)
  await host.drain()
  assert.is(await result, 3)
})

run('`run` is not thenable, has no symbols and cannot be written', async () => {
  const { workers } = crew()
  assert.is(workers.run.then, undefined)
  assert.is(await workers.run, workers.run)
  assert.is(workers.run[Symbol.iterator], undefined)
  assert.throws(() => { workers.run.add = () => {} }, TypeError)
  assert.is(workers.unfinished, 0)
})

run('run throws at the call like spawn', async () => {
  const { workers } = crew()
  assert.throws(() => workers.run.add(new Channel()), error => error.name === 'DataCloneError')
  await workers.close()
  assert.throws(() => workers.run.add(1, 2), /the workers have been closed/)
})

run.run()

const clones = suite('arguments that cannot be cloned')

class Empty { #hidden = 1; read() { return this.#hidden } }
class Tagged { value = 1; get [Symbol.toStringTag]() { return 'Tagged' } }
class Point { constructor(x) { this.x = x } }

const lost = {
  Channel: () => new Channel(),
  Mutex: () => new Mutex(),
  Semaphore: () => new Semaphore(1),
  Barrier: () => new Barrier(1),
  Resource: () => new Resource(),
  Scheduler: () => new Scheduler(),
  Reservation: () => new Reservation({ capacity: 1, period: 10, scheduler: new Scheduler() }),
  Job: () => new Scheduler({ paused: true }).spawn(() => {}),
  Task: () => new Task(() => {}),
  'class without public fields': () => new Empty(),
  'class with its own tag': () => new Tagged(),
  'function': () => () => {},
  'object with a function': () => ({ fn() {} }),
  'symbol': () => Symbol('x')
}
for (const [title, make] of Object.entries(lost)) {
  clones(`an argument that is a ${title} throws a DataCloneError, and leaves no job`, () => {
    const { spawn, workers, scheduler } = crew()
    const jobs = scheduler.stats().jobs
    assert.throws(() => spawn('add', 1, make()), error => error.name === 'DataCloneError')
    assert.equal([workers.unfinished, scheduler.stats().jobs - jobs <= 1], [0, true])
  })
}

clones('the error names the argument, the work and the class', () => {
  const { spawn } = crew()
  assert.throws(() => spawn('add', 1, new Channel()),
    /^args\[1\] of add, an object \(Channel\), cannot be cloned: its class stays in this thread$/)
})

const kept = {
  'plain object': [{ a: 1 }, '[object Object]'],
  'object without a prototype': [Object.create(null), '[object Object]'],
  'class with public fields': [new Point(1), '[object Object]'],
  'array': [[1, [2]], '[object Array]'],
  'Map': [new Map([[1, 2]]), '[object Map]'],
  'Date': [new Date(), '[object Date]'],
  'RangeError': [new RangeError('x'), '[object Error]'],
  'typed array': [new Uint8Array(3), '[object Uint8Array]'],
  'null': [null, '[object Null]'],
  'undefined': [undefined, '[object Undefined]']
}
for (const [title, [value, kind]] of Object.entries(kept)) {
  clones(`an argument that is a ${title} reaches the work`, async () => {
    const { spawn, host } = crew()
    const result = spawn('kindOf', value).then(value => value)
    await host.drain()
    assert.is(await result, kind)
  })
}

clones.run()

const ports = suite('transferred objects')

/** A number of jobs that exceeds the limit of one worker, so that the next job is held in this thread. */
const MANY = 70

ports('the port of a job that is cancelled while it is held is closed', async () => {
  const { spawn, host } = crew({ use: () => {} })
  for (let n = 0; n < MANY; n++) spawn('busy', 1)
  const { port1, port2 } = new MessageChannel()
  port1.ref()
  const closed = once(/** @type {any} */ (port1), 'close')
  const job = spawn('use', port2)
  job.cancel()
  assert.is(await job.catch(error => error.name), 'AbortError')
  await closed
  await host.drain()
})

ports('the ports of held jobs are closed when all workers are lost', async () => {
  const { spawn, host, workers } = crew({ use: () => {} })
  for (let n = 0; n < MANY; n++) spawn('busy', 1).catch(() => {})
  const { port1, port2 } = new MessageChannel()
  port1.ref()
  const closed = once(/** @type {any} */ (port1), 'close')
  spawn('use', port2).catch(() => {})
  workers.close({ cancel: true })
  await host.drain()
  await closed
})

ports('the port of a held job that gets a worker stays open', async () => {
  const { spawn, host } = crew({ use: port => { port.postMessage('hello'); port.close() } })
  for (let n = 0; n < MANY; n++) spawn('busy', 1)
  const { port1, port2 } = new MessageChannel()
  port1.ref()
  const heard = once(/** @type {any} */ (port1), 'message')
  const job = spawn('use', port2)
  job.then(() => {})
  await host.drain()
  await job
  const { 0: message } = await heard
  assert.is(message.data ?? message, 'hello')
  port1.close()
})

ports.run()

const disposal = suite('disposal of Workers')

disposal('Symbol.asyncDispose closes the workers after the last job', async () => {
  const { asyncDispose } = /** @type {any} */ (Symbol)
  const { workers, spawn, host } = crew()
  const job = spawn('add', 1, 2)
  const disposed = /** @type {any} */ (workers)[asyncDispose]()
  assert.throws(() => spawn('add', 1, 2), /the workers have been closed/)
  const result = job.then(value => value)
  await host.drain()
  await disposed
  assert.is(await result, 3)
})

disposal.run()
