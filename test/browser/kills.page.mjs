// Tests in which a connection, a worker or a thread inside a lock ends at a random message or moment.
// SEEDS=1-250 runs more seeds, about 5 minutes per range.
import { ChannelError } from '../../sync.mjs'
import { accept, connect } from '../../addons/connect.mjs'
import { SharedMutex, SharedSemaphore } from '../../addons/shared.mjs'
import { Workers } from '../../addons/workers.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { elapse, equal, inWorker, ok, test } from './page.mjs'

/** Returns a function that calls `act` at random, at most three times. */
function striking(random, act) {
  const risk = random.real(0.02, 0.3)
  let left = random.integer(1, 3)
  return (...of) => {
    if (left === 0 || !random.chance(risk)) return false
    left--
    act(...of)
    return true
  }
}

/**
 * Calls `isLost` for each message that the endpoint sends or receives. A message is lost if `isLost` returns
 * true.
 */
function tapped(endpoint, isLost) {
  const way = endpoint.send ? 'send' : 'postMessage'
  const post = endpoint[way].bind(endpoint)
  endpoint[way] = (...values) => { if (!isLost(endpoint, () => post(...values))) post(...values) }
  endpoint.addEventListener('message', event => { if (isLost(endpoint, () => {})) event.stopImmediatePropagation() })
  return endpoint
}

/** Opens connections that are cut at random messages. The message at the cut is lost or delivered. */
function cuttable(random, open, cut) {
  const strikes = striking(random, (line, deliver) => {
    if (random.chance(0.5)) deliver()
    cut(line)
  })
  return () => tapped(open(), strikes)
}

test('WebSockets cut at random: each message is received once and in order', () => forSeeds(5, async random => {
  const address = new URL('/examples/chat/socket', location.href)
  address.protocol = 'ws:'
  const open = cuttable(random, () => new WebSocket(address), socket => socket.close())
  const [say, hear] = ['say', 'hear'].map(name => connect(open, name, { retry: 5 }))
  const name = `Guest ${Math.random().toString(36).slice(2, 12)}`
  await say.send({ name })
  const heard = []
  const texts = Array.from({ length: random.integer(1, 3) }, (_, i) => `text ${i}`)
  const hears = (async () => {
    while (heard.length < texts.length) {
      const entry = await hear.receive()
      if (entry.kind === 'said' && entry.name === name) heard.push(entry.text)
    }
  })()
  for (const text of texts) await say.send({ text })
  await hears
  equal(heard, texts)
  say.close()
  hear.close()
}))

test('MessagePorts cut at random: replies arrive once, and both peers end', () => forSeeds(10, async random => {
  const others = new WeakMap()
  const cut = port => {
    for (const end of [port, others.get(port)]) {
      end.dispatchEvent(new Event('close')) // WebKit fires no close event
      end.close()
    }
  }
  const { promise: isOver, resolve: over } = Promise.withResolvers()
  const answer = async session => {
    const echo = connect(session, 'echo')
    for await (const value of echo) await echo.send(value)
    over()
  }
  const open = cuttable(random, () => {
    const { port1, port2 } = new MessageChannel()
    others.set(port1, port2)
    accept(port2, answer)
    return port1
  }, cut)
  const echo = connect(open, 'echo', { retry: 5 })
  for (let i = random.integer(1, 20); i > 0; i--) {
    await echo.send(i)
    equal(await echo.receive(), i)
  }
  echo.close()
  await isOver
}))

// The page creates the workers, so a single run suffices.
if (!inWorker) {
  test('workers terminated at random: no job is lost or ends twice', () => forSeeds(4, async random => {
    const isRestarting = random.chance(0.7)
    // During the call that sends, the worker does not exist yet.
    const strikes = striking(random, thread => queueMicrotask(() => thread.terminate()))
    const make = () => tapped(new Worker(new URL('../fixtures/workers/thread.mjs', import.meta.url), { type: 'module' }), thread => {
      strikes(thread)
      return false
    })
    const workers = new Workers(make, { size: random.integer(1, 2), restart: isRestarting && 9 })
    const { port1, port2 } = new MessageChannel()
    const progress = connect(port1, 'progress')
    const told = workers.spawn('progress', { restart: 0 }, port2, 5)
    told.catch(() => progress.close())
    const steps = []
    const heard = progress.forEach(step => { steps.push(step) }).then(null, error => ok(error instanceof ChannelError, String(error)))
    let ended = 0
    const jobs = Array.from({ length: random.integer(5, 30) }, (_, i) => {
      const job = workers.spawn('count', random.chance(0.5) ? { deadline: 1e6 } : {}, i * 100)
      job.finally(() => ended++).catch(() => {})
      return job
    })
    for (const job of jobs.filter(() => random.chance(0.2))) {
      setTimeout(() => random.chance(0.5) ? job.cancel('enough') : job.deadline = 10, random.integer(0, 50))
    }
    const outcomes = await Promise.all(jobs.map(job => job.catch(error => error)))
    outcomes.forEach((outcome, i) => {
      const isRight = outcome === i * 100 * (i * 100 - 1) / 2 || outcome === 'enough' || !isRestarting && outcome instanceof ChannelError
      ok(isRight, `${i}: ${outcome}`)
    })
    const failed = await told.then(() => null, error => error)
    ok(failed === null || failed instanceof ChannelError, String(failed))
    await heard
    const all = [1, 2, 3, 4, 5]
    equal(steps, failed === null ? all : all.slice(0, steps.length))
    equal([ended, workers.unfinished], [jobs.length, 0])
    await workers.close()
  }))
}

test('threads ended inside a shared lock, or at random, block no other thread', () => forSeeds(5, async random => {
  if (!crossOriginIsolated || typeof SharedArrayBuffer === 'undefined') return
  const { waitAsync } = Atomics
  if (random.chance(0.5)) Atomics.waitAsync = undefined
  try {
    const isMutex = random.chance(0.5)
    const lock = isMutex ? new SharedMutex() : new SharedSemaphore(1)
    const notes = new Int32Array(new SharedArrayBuffer(16))
    // In this variant a thread stays inside the lock after its rounds, until it is terminated.
    const staysInside = random.chance(0.5)
    const counts = Array.from({ length: random.integer(1, 3) }, () => staysInside ? random.integer(0, 100) : Infinity)
    const threads = counts.map(count => {
      const worker = new Worker(new URL('../fixtures/channels/web-worker.mjs', import.meta.url), { type: 'module' })
      const channel = connect(worker, 'locks')
      const inside = channel.send({ [isMutex ? 'mutex' : 'semaphore']: lock.buffer, notes, count })
        .then(() => channel.receive()).then(() => threads.find(one => one.worker === worker))
      inside.catch(() => {})
      return { worker, inside }
    })
    const left = new Set(threads)
    while (left.size > 0) {
      const enough = notes[2] + random.integer(1, 100)
      if (!staysInside) while (notes[2] < enough) await elapse(1)
      const victim = staysInside ? await Promise.race([...left].map(({ inside }) => inside)) : [...left][0]
      left.delete(victim)
      let held
      const waits = staysInside && left.size === 0 && (isMutex ? lock.lock() : lock.acquire()).then(value => { held = value })
      victim.worker.terminate()
      if (!waits) continue
      await waits
      ok(lock.abandoned)
      if (isMutex) held.unlock()
      else lock.release()
    }
    let isInside = false
    await lock.use(() => { isInside = true })
    equal([isInside, notes[1]], [true, 0])
    if (staysInside) equal(notes[2], counts.reduce((sum, count) => sum + count))
  } finally {
    Atomics.waitAsync = waitAsync
  }
}))
