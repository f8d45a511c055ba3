import { rt, Scheduler } from '../../rt.mjs'
import { ChannelError, choice } from '../../sync.mjs'
import { connect } from '../../addons/connect.mjs'
import { Latest, Ring } from '../../addons/shared.mjs'
import { serve } from '../fixtures/channels/serve.mjs'
import { elapse, equal, inWebKit, inWorker, ok, rejection, test } from './page.mjs'

const script = new URL('../fixtures/channels/web-worker.mjs', import.meta.url)
const open = () => new Worker(script, { type: 'module' })

let broadcasts = 0

/** Every kind of endpoint, with a peer. `kill` ends the peer without a close message. */
const kinds = {
  'Worker': async () => {
    const worker = open()
    const kill = () => worker.terminate()
    return { endpoint: worker, kill, end: kill }
  },
  'MessagePort to a worker': async () => {
    const worker = open()
    const { port1, port2 } = new MessageChannel()
    await connect(worker, 'endpoints').send({ port: port2 })
    const kill = () => worker.terminate()
    return { endpoint: port1, kill, end: kill }
  },
  'BroadcastChannel': async () => {
    const worker = open()
    const name = `channels ${performance.timeOrigin} ${inWorker} ${broadcasts++}`
    await connect(worker, 'endpoints').send({ broadcast: name })
    const endpoint = new BroadcastChannel(name)
    return {
      endpoint,
      kill: () => worker.terminate(),
      end() {
        worker.terminate()
        endpoint.close()
      }
    }
  }
}

for (const [kind, create] of Object.entries(kinds)) {
  test(`${kind}: messages cross in both directions`, async () => {
    const { endpoint, end } = await create()
    const echo = connect(endpoint, 'echo')
    const large = new Uint8Array(1e6).fill(7)
    const messages = [1, 'text', undefined, { a: [1n, new Date(3), new Uint8Array([1, 2])] }, large]
    const found = await rt.spawn(function* () {
      const got = []
      for (const message of messages) {
        yield echo.send(message)
        got.push(yield echo.receive())
      }
      return got
    })
    equal(found.slice(0, 4), messages.slice(0, 4))
    equal([found[4].length, found[4][999_999]], [1e6, 7])
    equal(messages[4].length, kind === 'BroadcastChannel' ? 1e6 : 0)
    echo.close()
    end()
  })

  test(`${kind}: choice works`, async () => {
    const { endpoint, end } = await create()
    const [sink, source, silent] = ['sink', 'source', 'silent'].map(name => connect(endpoint, name))
    const indices = await rt.spawn(function* () {
      const found = []
      for (let i = 0; i < 10; i++) {
        const guards = [{ send: silent, value: 1 }, { receive: source }, { send: sink, value: 2 }]
        found.push((yield choice(guards, { fair: true })).index)
      }
      found.push((yield choice([{ send: silent, value: 1 }, { receive: silent }, { timeout: 20 }])).index)
      return found
    })
    equal([...new Set(indices.slice(0, 10))].sort(), [1, 2])
    equal(indices[10], 2)
    end()
  })

  test(`${kind}: a kill during 1000 transfers fails all waiting operations`, async () => {
    const { endpoint, kill, end } = await create()
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
    spawn(function* () { yield silent.send('x') })
    spawn(function* () { yield silent.receive() })
    spawn(function* () { yield choice([{ send: silent, value: 'x' }, { receive: silent }]) })
    await Promise.all(jobs)
    equal(outcomes.done + outcomes.failed, 1203)
    ok(outcomes.done >= 500 && outcomes.failed >= 3, JSON.stringify(outcomes))
    equal([sink, source, silent].map(({ closed }) => closed), [true, true, true])
    never.close()
    end()
  })
}

test('a worker that closes itself closes its channels', async () => {
  const worker = open()
  const silent = rejection(connect(worker, 'silent').receive())
  await connect(worker, 'end').send('exit')
  ok(await silent instanceof ChannelError)
  ok(await rejection(connect(worker, 'silent').receive()) instanceof ChannelError)
})

test('a send to a hanging worker can time out, and terminate() fails the rest', async () => {
  const worker = open()
  const sink = connect(worker, 'sink')
  await sink.send('before')
  await connect(worker, 'end').send('hang')
  equal((await choice([{ send: sink, value: 'late' }, { timeout: 50 }])).index, 1)
  const pending = rejection(sink.send('late'))
  worker.terminate()
  ok(await pending instanceof ChannelError)
})

test('a close by the peer carries its reason', async () => {
  const worker = open()
  const waits = rejection(connect(worker, 'echo').receive())
  await connect(worker, 'end').send('close')
  const error = await waits
  equal([error instanceof ChannelError, error.message], [true, 'echo was closed by the other side: bye'])
  worker.terminate()
})

test('both ends of a port can be in the same thread', async () => {
  const { port1, port2 } = new MessageChannel()
  serve(port2)
  const echo = connect(port1, 'echo')
  await echo.send({ $: 1 })
  equal(await echo.receive(), { $: 1 })
  echo.close()
  for (const name of ['echo', 'sink', 'source', 'silent', 'end']) connect(port2, name).close()
})

test('a name on a BroadcastChannel has two ends, and a third is rejected', async () => {
  const name = `third ${performance.timeOrigin} ${inWorker}`
  const [a, b, c] = [1, 2, 3].map(() => new BroadcastChannel(name))
  const [x, y] = [connect(a, 'x'), connect(b, 'x')]
  equal(await Promise.all([x.send('one'), y.receive()]), [undefined, 'one'])
  const error = await rejection(connect(c, 'x').receive())
  ok(error instanceof ChannelError && error.message.includes('the name is taken'))
  equal(await Promise.all([y.send('two'), x.receive()]), [undefined, 'two'])
  x.close()
  ok(await rejection(y.receive()) instanceof ChannelError)
  for (const endpoint of [a, b, c]) endpoint.close()
})

test('a window is rejected as an endpoint', async () => {
  if (inWorker) return
  const error = await rejection(new Promise(() => { connect(window, 'x') }))
  ok(error instanceof TypeError && error.message.includes('no window'), String(error))
})

/** A new name, because the chat room keeps earlier messages. */
const guest = () => `Guest ${Math.random().toString(36).slice(2, 12)}`

test('a WebSocket carries channels from before it opens until it closes', async () => {
  const address = new URL('/examples/chat/socket', location.href)
  address.protocol = 'ws:'
  const socket = new WebSocket(address)
  const say = connect(socket, 'say')
  const hear = connect(socket, 'hear')
  const name = guest()
  await say.send({ name })
  const texts = ['hello', '\u6587\u{1F600}', 'x'.repeat(400)]
  const heard = []
  for (const text of texts) await say.send({ text })
  while (heard.length < texts.length) {
    const entry = await hear.receive()
    if (entry.kind === 'said' && entry.name === name) heard.push(entry.text)
  }
  equal(heard, texts)
  // The chat ignores malformed messages.
  const odd = [new Uint8Array(3e5), new Map([[1, new Float64Array(5)]]), undefined, [1n]]
  for (const value of odd) await say.send(value)
  const waits = rejection(connect(socket, 'nobody').send(1))
  socket.close()
  ok(await waits instanceof ChannelError)
  ok(await rejection(say.send({ text: 'late' })) instanceof ChannelError)
  ok(connect(socket, 'after').closed)
})

test('an RTCDataChannel carries messages beyond its size limit', async () => {
  if (typeof RTCPeerConnection === 'undefined') {
    equal(inWorker || inWebKit, true)
    return
  }
  const [here, there] = [new RTCPeerConnection(), new RTCPeerConnection()]
  here.onicecandidate = ({ candidate }) => { if (candidate) there.addIceCandidate(candidate) }
  there.onicecandidate = ({ candidate }) => { if (candidate) here.addIceCandidate(candidate) }
  const line = here.createDataChannel('line')
  const arrived = new Promise(resolve => { there.ondatachannel = ({ channel }) => resolve(channel) })
  await here.setLocalDescription(await here.createOffer())
  await there.setRemoteDescription(here.localDescription)
  await there.setLocalDescription(await there.createAnswer())
  await here.setRemoteDescription(there.localDescription)
  const echo = connect(line, 'echo')
  serve(await arrived)
  const messages = [5, '\u6587'.repeat(1e5), new Uint8Array(1e6).fill(9), { a: undefined }]
  for (const message of messages) {
    await echo.send(message)
    equal(await echo.receive(), message)
  }
  const waits = rejection(connect(line, 'silent').receive())
  there.close()
  ok(await waits instanceof ChannelError)
  here.close()
})

test('values are shared with a worker if the page is isolated', async () => {
  // WebKitGTK is built without SharedArrayBuffer.
  if (!crossOriginIsolated || typeof SharedArrayBuffer === 'undefined') {
    const needed = crossOriginIsolated && inWebKit ? 'has no SharedArrayBuffer' : 'cross-origin isolated'
    for (const make of [() => new Latest(0, { shared: true }), () => new Ring(2, { shared: true })]) {
      const error = await rejection(new Promise(make))
      ok(error instanceof TypeError && error.message.includes(needed), String(error))
    }
    return
  }
  const worker = open()
  const latest = new Latest({ i: 0, text: '' }, { shared: true })
  const ring = new Ring(64, { shared: true })
  const count = 5000
  await connect(worker, 'buffers').send({ latest: latest.buffer, ring: ring.buffer, count })
  let newest = 0
  for (let expected = 1; expected <= count;) {
    const i = ring.read()
    if (i === undefined) {
      // Both threads may run on the same core.
      await elapse(0)
      continue
    }
    if (i !== expected) throw new Error(`${i} came in the place of ${expected}`)
    expected++
    const value = latest.read()
    const isWhole = value.text === 'abc'[value.i % 3].repeat(value.i % 300)
    if (!isWhole || value.i < newest) throw new Error(`after ${newest} came ${JSON.stringify(value)}`)
    newest = value.i
  }
  equal(latest.read().i, count)
  worker.terminate()
})
