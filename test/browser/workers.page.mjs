import { rt } from '../../rt.mjs'
import { ChannelError } from '../../sync.mjs'
import { connect } from '../../addons/connect.mjs'
import { AdmissionError, Workers } from '../../addons/workers.mjs'
import { equal, ok, rejection, test } from './page.mjs'

const works = new URL('../fixtures/workers/works.mjs', import.meta.url)
const timeout = 50_000

test('results, errors, buffers, progress, cancellations and rejections cross threads', async () => {
  const workers = new Workers(works, { size: 2 })
  equal(await rt.spawn(function* () { return (yield workers.spawn('add', {}, 3, 4)) + 1 }), 8)
  const error = await rejection(workers.spawn('refuse', {}, 7))
  ok(error instanceof RangeError && error.cause instanceof TypeError)
  equal([error.message, error.code], ['refused', 7])
  ok(error.stack.includes('works.mjs'), error.stack)
  const bytes = new Uint8Array(1e6).fill(4)
  const doubled = await workers.spawn('doubled', {}, bytes)
  equal([bytes.length, doubled.length, doubled[9]], [0, 1e6, 8])
  const { port1, port2 } = new MessageChannel()
  const progress = workers.spawn('progress', {}, port2, 5)
  const steps = []
  for await (const step of connect(port1, 'progress')) steps.push(step)
  equal([steps, await progress], [[1, 2, 3, 4, 5], 'done'])

  const job = workers.spawn('count', { deadline: 1e6 }, Infinity)
  while (job.state !== 'running' || job.cost === 0) await new Promise(resolve => setTimeout(resolve, 5))
  ok(job.started >= job.release - 1, `started ${job.started}, released ${job.release}`)
  job.deadline = 5e5
  ok(job.cancel('enough'))
  equal([await rejection(job), job.state], ['enough', 'cancelled'])

  const never = () => workers.spawn('never', { wcet: 6, period: 10 })
  const admitted = [never(), never()].map(rejection)
  let refused
  try {
    never()
  } catch (error) {
    refused = error
  }
  ok(refused instanceof AdmissionError)
  await workers.close({ cancel: true })
  equal((await Promise.all(admitted)).map(({ name }) => name), ['AbortError', 'AbortError'])
}, { timeout })

const preemptified = {
  'the option preemptify': () => new Workers(works, { size: 1, preemptify: true }),
  'preemptify.import': () =>
    new Workers(() => new Worker(new URL('preemptified.mjs', works), { type: 'module' }), { size: 1 })
}
for (const [by, make] of Object.entries(preemptified)) {
  test(`works preemptified by ${by} let other works run and can be cancelled`, async () => {
    const workers = make()
    const job = workers.spawn('countAtOnce', {}, Infinity)
    equal(await workers.spawn('countAtOnce', { deadline: 1e6 }, 1e5), 4999950000)
    job.cancel('enough')
    equal(await rejection(job), 'enough')
    await workers.close()
  }, { timeout })
}

test('a worker that ends itself, or whose works cannot be loaded, fails its jobs', async () => {
  const workers = new Workers(works, { size: 1 })
  ok(await rejection(workers.spawn('end', {}, 'close')) instanceof ChannelError)
  const { port2 } = new MessageChannel()
  const { message } = await rejection(workers.spawn('end', { restart: true }, 'close', { of: port2 }))
  ok(message.endsWith('and with it the MessagePort that was transferred: it is not started again'), message)
  await workers.close()
  const broken = new Workers(new URL('nothing.mjs', works), { size: 1, restart: true })
  equal((await rejection(broken.spawn('add'))).message, 'add: its worker has gone (its works could not be loaded)')
  await broken.close()
}, { timeout })

test('a worker whose script does not load fails its jobs and its channels', async () => {
  const load = () => new Worker(new URL('nothing.mjs', works), { type: 'module' })
  const workers = new Workers(load, { size: 1 })
  equal((await rejection(workers.spawn('add'))).message, 'add: its worker has gone (did not load)')
  await workers.close()
  const error = await rejection(connect(load(), 'x').receive())
  ok(error instanceof ChannelError)
  equal(error.message, 'x: the other side has gone (did not load)')
}, { timeout })

test('an uncaught error inside a worker does not end the worker', async () => {
  const failing = Object.assign(new Worker(new URL('failing.mjs', works), { type: 'module' }), {
    onerror: event => event.preventDefault()
  })
  const errors = new Promise(resolve => failing.addEventListener('error', resolve, { once: true }))
  const workers = new Workers(() => failing, { size: 1 })
  const job = workers.spawn('add', {}, 3, 4)
  failing.postMessage('fail')
  equal((await errors).message.includes('uncaught'), true)
  equal([await job, await workers.spawn('add', {}, 5, 6)], [7, 11])
  await workers.close()
}, { timeout })

test('a worker that is terminated fails the jobs that it serves over a port', async () => {
  const thread = new Worker(new URL('port.mjs', works), { type: 'module' })
  const workers = new Workers(() => {
    const { port1, port2 } = new MessageChannel()
    thread.postMessage(port2, [port2])
    return port1
  }, { size: 1 })
  equal(await workers.spawn('add', {}, 3, 4), 7)
  const failed = rejection(workers.spawn('never'))
  await workers.spawn('count', {}, 1e5)
  thread.terminate()
  const error = await failed
  ok(error instanceof ChannelError)
  equal(error.message, 'never: its worker has gone (its thread has ended)')
}, { timeout })
