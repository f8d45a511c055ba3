import { fork } from 'node:child_process'
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { BroadcastChannel, MessageChannel, Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { acceptWebSocket } from '../../../examples/chat/web-socket.mjs'
import { Scheduler, rt } from '../../../rt.mjs'
import { ChannelError, choice } from '../../../sync.mjs'
import { accept, connect } from '../../../addons/connect.mjs'
import { openWebSocket } from '../../fixtures/channels/open-web-socket.mjs'
import { serve } from '../../fixtures/channels/serve.mjs'

const peer = fileURLToPath(new URL('../../fixtures/channels/peer.mjs', import.meta.url))

/** @param {PromiseLike<any>} waitable @returns {Promise<any>} */
const failure = waitable => Promise.resolve(waitable).then(value => {
  throw new Error(`expected a failure, got ${String(value)}`)
}, error => error)

/**
 * All kinds of endpoints of Node, each with a peer. `kill` ends the peer without a message.
 *
 * @type {Record<string, () => Promise<{ endpoint: any, kill(): void, end(): unknown }>>}
 */
const kinds = {
  async 'Worker'() {
    const worker = new Worker(peer)
    // The peer throws on purpose.
    worker.on('error', () => {})
    return { endpoint: worker, kill: () => { worker.terminate() }, end: () => worker.terminate() }
  },
  async 'MessagePort'() {
    const { port1, port2 } = new MessageChannel()
    serve(port2)
    return { endpoint: port1, kill: () => port2.close(), end: () => port2.close() }
  },
  async 'child process, JSON'() {
    const child = fork(peer, { serialization: 'json', stdio: 'ignore' })
    const kill = () => child.kill('SIGKILL')
    return { endpoint: child, kill, end: kill }
  },
  async 'child process, advanced'() {
    const child = fork(peer, { serialization: 'advanced', stdio: 'ignore' })
    const kill = () => child.kill('SIGKILL')
    return { endpoint: child, kill, end: kill }
  },
  async 'cluster worker'() {
    cluster.setupPrimary({ exec: peer, silent: true })
    const worker = cluster.fork()
    const kill = () => worker.process.kill('SIGKILL')
    return { endpoint: worker, kill, end: kill }
  },
  async 'WebSocket'() {
    const server = createServer()
    let other
    server.on('upgrade', (request, socket, head) => {
      other = acceptWebSocket(request, socket, head)
      serve(other)
    })
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
    const socket = await openWebSocket({ port: server.address().port })
    const end = () => {
      socket.terminate()
      server.close()
    }
    return { endpoint: socket, kill: () => other.terminate(), end }
  }
}

const endpoints = suite('connect: endpoints of Node')

for (const [kind, open] of Object.entries(kinds)) {
  endpoints(`${kind}: messages travel in both directions`, async () => {
    const { endpoint, end } = await open()
    const echo = connect(endpoint, 'echo')
    const binary = new Uint8Array(1e6).map((_, i) => i * 7)
    const messages = [1, 'text', undefined, { a: [1n, new Date(3), new Map([[1, NaN]])] }, binary]
    const expected = structuredClone(messages)
    const got = await rt.spawn(function* () {
      const found = []
      for (const message of messages) {
        yield echo.send(message)
        found.push(yield echo.receive())
      }
      return found
    })
    assert.equal(got, expected)
    echo.close()
    await end()
  })

  endpoints(`${kind}: choice works`, async () => {
    const { endpoint, end } = await open()
    const [sink, source, silent] = ['sink', 'source', 'silent'].map(name => connect(endpoint, name))
    const found = await rt.spawn(function* () {
      const indices = []
      for (let i = 0; i < 10; i++) {
        const guards = [{ send: silent, value: 1 }, { receive: source }, { send: sink, value: 2 }]
        const { index, value } = yield choice(guards, { fair: true })
        indices.push(index)
        if (index === 1) assert.type(value, 'number')
      }
      const { index } = yield choice([{ send: silent, value: 1 }, { receive: silent }, { timeout: 20 }])
      return [indices, index]
    })
    assert.equal(new Set(found[0]), new Set([1, 2]))
    assert.is(found[1], 2)
    await end()
  })

  endpoints(`${kind}: after a kill during 1000 transfers, all waiting operations fail`, async () => {
    const { endpoint, kill, end } = await open()
    const names = ['sink', 'source', 'silent', 'never']
    const [sink, source, silent, never] = names.map(name => connect(endpoint, name))
    const scheduler = new Scheduler()
    const outcomes = { done: 0, failed: 0 }
    const jobs = []
    const spawn = work => jobs.push(scheduler.spawn(function* () {
      try {
        yield* work()
        outcomes.done++
        if (outcomes.done === 500) kill()
      } catch (error) {
        if (!(error instanceof ChannelError)) throw error
        outcomes.failed++
      }
    }))
    for (let i = 0; i < 1000; i++) {
      spawn(function* () { yield sink.send(new Uint8Array(i)) })
      if (i % 5 === 0) spawn(function* () { yield source.receive() })
    }
    // These operations can never succeed.
    for (const channel of [silent, never]) {
      spawn(function* () { yield channel.send('x') })
      spawn(function* () { yield channel.receive() })
      spawn(function* () { yield choice([{ send: channel, value: 'x' }, { receive: channel }]) })
    }
    const outside = [failure(silent.send('x')), failure(never.receive())]
    await Promise.all(jobs)
    assert.is(outcomes.done + outcomes.failed, 1206)
    assert.ok(outcomes.done >= 500 && outcomes.failed >= 6, JSON.stringify(outcomes))
    for (const error of await Promise.all(outside)) assert.instance(error, ChannelError)
    assert.equal([sink, source, silent, never].map(({ closed }) => closed), [true, true, true, true])
    assert.instance(await failure(connect(endpoint, 'sink').send('after the end')), ChannelError)
    await end()
  })
}

for (const how of ['exit', 'throw']) {
  for (const kind of ['Worker', 'child process, JSON']) {
    endpoints(`${kind}: ends by ${how}`, async () => {
      const { endpoint, end } = await kinds[kind]()
      const silent = failure(connect(endpoint, 'silent').receive())
      await connect(endpoint, 'end').send(how)
      assert.instance(await silent, ChannelError)
      await end()
    })
  }
}

endpoints('a worker that ends with an error is replaced by the session', async () => {
  const { port1, port2 } = new MessageChannel()
  const got = new Promise(resolve => accept(port2, session => { connect(session, 'x').receive().then(resolve) }))
  const lines = [port1, new Worker('throw new Error("on purpose")', { eval: true })]
  const channel = connect(() => lines.pop() ?? null, 'x', { retry: 1 })
  await channel.send('it')
  assert.is(await got, 'it')
  channel.close()
})

endpoints('a hanging worker is not dead, but a timeout ends the wait', async () => {
  const { endpoint, end } = await kinds.Worker()
  const sink = connect(endpoint, 'sink')
  await sink.send('before')
  await connect(endpoint, 'end').send('hang')
  const late = await choice([{ send: sink, value: 'late' }, { timeout: 50 }])
  assert.is(late.index, 1)
  const pending = failure(sink.send('late'))
  await end()
  assert.instance(await pending, ChannelError)
})

endpoints('close at the peer passes its reason', async () => {
  const { endpoint, end } = await kinds.Worker()
  const [echo, silent] = ['echo', 'silent'].map(name => connect(endpoint, name))
  const waits = failure(echo.receive())
  await connect(endpoint, 'end').send('close')
  const error = await waits
  assert.instance(error, ChannelError)
  assert.is(error.message, 'echo was closed by the other side: bye')
  assert.is(silent.closed, false)
  await end()
})

endpoints('a large buffer is transferred to a worker', async () => {
  const { endpoint, end } = await kinds.Worker()
  const echo = connect(endpoint, 'echo')
  const buffer = new ArrayBuffer(2 ** 20)
  await echo.send(buffer)
  assert.is(buffer.byteLength, 0)
  assert.is((await echo.receive()).byteLength, 2 ** 20)
  await end()
})

endpoints('a port can be sent over a channel, and can carry channels itself', async () => {
  const { port1, port2 } = new MessageChannel()
  const inner = new MessageChannel()
  const [left, right] = [connect(port1, 'ports'), connect(port2, 'ports')]
  const [, { port }] = await Promise.all([left.send({ port: inner.port1 }), right.receive()])
  const [x, u] = [connect(port, 'x'), connect(inner.port2, 'x')]
  assert.equal(await Promise.all([x.send('through it'), u.receive()]), [undefined, 'through it'])
  for (const channel of [left, x]) channel.close()
  await Promise.all([failure(right.receive()), failure(u.receive())])
})

endpoints('over a BroadcastChannel a name has two ends, and a third end is rejected', async () => {
  const [a, b, c] = [1, 2, 3].map(() => new BroadcastChannel('rt.mjs test'))
  const [x, y] = [connect(a, 'x'), connect(b, 'x')]
  assert.equal(await Promise.all([x.send('one'), y.receive()]), [undefined, 'one'])
  const third = connect(c, 'x')
  const error = await failure(third.receive())
  assert.instance(error, ChannelError)
  assert.match(error.message, 'the name is taken')
  // Another name is free, and the two ends continue.
  const [other, last] = [connect(c, 'y'), connect(a, 'y')]
  const both = await Promise.all([last.receive(), x.receive(), other.send('two'), y.send('three')])
  assert.equal(both.slice(0, 2), ['two', 'three'])
  x.close()
  assert.instance(await failure(y.receive()), ChannelError)
  for (const channel of [y, other, last]) channel.close()
  for (const endpoint of [a, b, c]) endpoint.close()
})

endpoints('a worker of another process opens without its Web Lock, which is invisible here', () => {
  const real = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
  const locks = { request: () => new Promise(() => {}) }
  Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true })
  const sent = []
  class Worker {
    process = { pid: 1 }
    on() {}
    off() {}
    send(frame) { sent.push(frame[5]) }
  }
  try {
    connect(new Worker(), 'echo')
    assert.equal(sent, ['echo'])
  } finally {
    if (real) Object.defineProperty(globalThis, 'navigator', real)
    else delete globalThis.navigator
  }
})

endpoints.run()
