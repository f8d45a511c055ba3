/** Tests of events(): a queue of events for jobs and async code. */
import { getEventListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TimeoutError, at, events, timeout } from '../../alarms.mjs'
import { Channel, choice } from '../../sync.mjs'
import { microtasks } from '../support/virtual-host.mjs'
import { abortListeners, exactWorld, rejection } from '../support/world.mjs'

/** A scheduler, a target, and a function that dispatches a numbered event. */
function world(options = {}) {
  const made = exactWorld({ except: ['round', 'alarm'], ...options })
  const target = new EventTarget()
  const ping = (/** @type {any} */ detail) =>
    target.dispatchEvent(Object.assign(new Event('ping'), { detail }))
  const { scheduler } = made
  const pings = (...times) => times.forEach((time, n) => at(time, () => { ping(n) }, { scheduler }))
  const listening = () => getEventListeners(target, 'ping').length
  return { ...made, target, ping, pings, listening }
}

const detailOf = (/** @type {any} */ event) => event.detail

const queues = suite('events')

queues('a job that yields the queue receives one event at a time, in order', () => {
  const { host, scheduler, log, target, pings } = world()
  const queue = events(target, 'ping')
  scheduler.spawn(function* () {
    for (let n = 0; n < 3; n++) log.push([detailOf(yield queue), host.time])
    log.push([detailOf(yield* queue.receive()), host.time])
  })
  pings(1, 1, 2, 4)
  host.run()
  assert.equal(log, [[0, 1], [1, 1], [2, 2], [3, 4]])
})

queues('each event goes to one waiting job, highest rank first', () => {
  const { host, scheduler, log, target, pings } = world()
  const queue = events(target, 'ping')
  for (const priority of [1, 3, 2]) {
    scheduler.spawn(function* () { log.push([priority, detailOf(yield queue)]) }, { priority })
  }
  pings(1, 2, 3)
  host.run()
  assert.equal(log, [[3, 0], [2, 1], [1, 2]])
})

queues('an event that wakes a job runs it in the same task, after the last listener', async () => {
  const { scheduler, host, log, target, ping } = world()
  const queue = events(target, 'ping')
  scheduler.spawn(function* () { log.push(detailOf(yield queue)) })
  host.run()
  ping('event')
  log.push('listener done')
  await microtasks()
  assert.equal(log, ['listener done', 'event'])
})

queues('for await receives events, and break removes the listener', async () => {
  const { log, target, ping, listening } = world()
  const queue = events(target, 'ping')
  for (const detail of ['a', 'b', 'c']) ping(detail)
  assert.is(queue.length, 3)
  for await (const { detail } of /** @type {AsyncIterable<any>} */ (queue)) {
    log.push(detail)
    if (detail === 'b') break
  }
  assert.equal([log, listening(), queue.length], [['a', 'b'], 0, 0])

  const second = events(target, 'ping')
  const iterate = async () => { for await (const event of second) log.push(detailOf(event)) }
  const loop = iterate()
  ping('d')
  await microtasks()
  assert.equal([second.cancel(), second.cancel()], [true, false])
  await loop
  assert.equal([log, listening()], [['a', 'b', 'd'], 0])
})

queues('await returns the next event', async () => {
  const { target, ping } = world()
  const queue = events(target, 'ping')
  ping(1)
  ping(2)
  assert.equal([detailOf(await queue), detailOf(await queue)], [1, 2])
  const third = queue.receive()
  ping(3)
  const event = await third
  assert.is(await third, event, 'a waitable repeats its outcome')
})

queues('a full queue with block or drop loses the new event, with slide the oldest', () => {
  const cases = /** @type {const} */ ([['block', [0, 1]], ['drop', [0, 1]], ['slide', [3, 4]]])
  for (const [overflow, kept] of cases) {
    const { host, scheduler, log, target, ping } = world()
    const queue = events(target, 'ping', { size: 2, overflow })
    for (let n = 0; n < 5; n++) ping(n)
    assert.equal([queue.length, queue.dropped], [2, 3])
    scheduler.spawn(function* () { for (;;) log.push(detailOf(yield queue)) })
    host.run()
    assert.equal(log, kept)
  }
})

queues('a queue of size 0 passes events to waiting jobs only', () => {
  for (const overflow of /** @type {const} */ (['drop', 'slide'])) {
    const { host, scheduler, log, target, ping } = world()
    const queue = events(target, 'ping', { size: 0, overflow })
    ping('lost')
    scheduler.spawn(function* () { log.push(detailOf(yield queue)) })
    host.run()
    ping('received')
    host.run()
    assert.equal([log, queue.length, queue.dropped], [['received'], 0, 1])
  }
})

queues('a cancelled job, a timeout and a losing branch leave the event for others', () => {
  const { host, scheduler, log, target, pings } = world()
  const queue = events(target, 'ping')
  const cancelled = scheduler.spawn(function* () { yield queue }, { priority: 3 })
  scheduler.spawn(function* () {
    try {
      yield timeout(5, queue)
    } catch (error) {
      log.push(error instanceof TimeoutError)
    }
  }, { priority: 2 })
  const channel = new Channel()
  scheduler.spawn(function* () {
    log.push((yield choice([{ wait: queue.receive() }, { receive: channel }])).index)
  }, { priority: 1 })
  scheduler.spawn(function* () { log.push(detailOf(yield queue)) })
  at(3, () => { cancelled.cancel() }, { scheduler })
  at(6, () => { channel.offer('message') }, { scheduler })
  pings(7)
  host.run()
  assert.equal(log, [true, 1, 0])
})

queues('a job cancelled after an event was handed to it receives the event first', () => {
  const { host, scheduler, log, target, ping } = world()
  const queue = events(target, 'ping')
  const job = scheduler.spawn(function* () {
    try {
      log.push(detailOf(yield queue))
      yield
    } catch (error) {
      log.push(error.name)
    }
  })
  at(1, () => {
    ping('handed')
    job.cancel()
  }, { scheduler })
  host.run()
  assert.equal(log, ['handed', 'AbortError'])
})

queues('the signal ends the queue, and all waits fail with its reason', async () => {
  const { host, scheduler, log, target, ping, listening } = world()
  const controller = new AbortController()
  const queue = events(target, 'ping', { signal: controller.signal })
  scheduler.spawn(function* () {
    try {
      yield queue
    } catch (error) {
      log.push(error)
    }
  })
  host.run()
  controller.abort('enough')
  ping('late')
  host.run()
  assert.equal([log, listening(), abortListeners(controller.signal)], [['enough'], 0, 0])
  assert.is(await rejection(queue), 'enough')
  const ended = events(target, 'ping', { signal: AbortSignal.abort('before') })
  assert.is(await rejection(ended.receive()), 'before')
  assert.is(ended.cancel(), false)
})

queues('a signal of receive() ends only that wait', async () => {
  const { target, ping } = world()
  const queue = events(target, 'ping')
  const controller = new AbortController()
  const first = rejection(queue.receive({ signal: controller.signal }))
  const second = queue.receive().then(detailOf)
  controller.abort('enough')
  ping('kept')
  assert.equal([await first, await second], ['enough', 'kept'])
})

queues.run()
