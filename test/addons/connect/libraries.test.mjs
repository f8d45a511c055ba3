/** Tests channels over the published `ws` and socket.io, and over fakes that have the methods of both. */
import { createServer } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { accept, connect } from '../../../addons/connect.mjs'
import { rt } from '../../../rt.mjs'
import { ChannelError } from '../../../sync.mjs'
import { endpoints } from '../../fixtures/channels/fakes.mjs'
import { openCuttingProxy } from '../../support/cutting-proxy.mjs'
import { importPeers } from '../../support/peers.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const peers = await importPeers('ws', 'socket.io', 'socket.io-client')
const [ws, { Server }, io] = peers === null ? [null, {}, null] : [peers[0].default, peers[1], peers[2].default]

/** @param {any} waitable @returns {Promise<any>} */
const failure = waitable => Promise.resolve(waitable).then(() => null, error => error)

/** Sends each message back. */
const echo = endpoint => {
  const channel = connect(endpoint, 'echo')
  rt.spawn(() => channel.forEach(message => channel.send(message))).catch(error => {
    if (!(error instanceof ChannelError)) throw error
  })
}

const MESSAGES = [1, 'text', undefined, { a: [1n, new Date(3), new Map([[1, NaN]])] }, new Uint8Array(200_000).map((_, i) => i * 7)]

/** @param {any} channel @returns {Promise<any[]>} the echo of MESSAGES */
async function exchange(channel) {
  const found = []
  for (const message of MESSAGES) {
    await channel.send(message)
    found.push(await channel.receive())
  }
  return found
}

// ---------------------------------------------------------------------------------------------------------

const shapes = suite('connect: endpoints with on and addEventListener')

for (const [name, expected] of [['ws', 'events'], ['emit, on, socket.io', 'messages']]) {
  shapes(`over ${name}, whose addEventListener delivers ${expected}, messages arrive once`, () => {
    const host = virtualHost()
    const { a, b } = endpoints(name, { clock: host })
    const got = []
    a.addEventListener('message', value => got.push(value?.type === 'message' ? 'events' : 'messages'))
    const [x, u] = [connect(a, 'x'), connect(b, 'x')]
    host.run()
    assert.is(u.offer({ n: 1 }), true)
    host.run()
    assert.equal([x.poll(), x.poll()], [{ n: 1 }, undefined])
    assert.ok(got.length > 0 && got.every(kind => kind === expected))
  })
}

shapes('an error of a fake socket without a listener is thrown, as by an emitter of Node', () => {
  const { a } = endpoints('ws')
  assert.throws(() => a.happen('error', new Error('refused')), /refused/)
})

shapes.run()

// ---------------------------------------------------------------------------------------------------------

const libraries = suite('connect: ws and socket.io as published')

/**
 * Both kinds of sockets. `serve(work)` calls `work` with each socket of a server. It resolves to a dial
 * function, and to a function that waits for the end of the last socket and closes the server.
 */
const KINDS = {
  'ws': async (work, options) => {
    const server = createServer()
    new ws.WebSocketServer({ server, ...options }).on('connection', work)
    return listening(server, port => new ws(`ws://localhost:${port}`), 'close')
  },
  'socket.io': async work => {
    const server = createServer()
    new Server(server).on('connection', work)
    const dial = port => io(`http://localhost:${port}`, { transports: ['websocket'], forceNew: true })
    return listening(server, dial, 'disconnect')
  }
}

/**
 * @param {import('node:http').Server} server @param {(port: number) => any} open
 * @param {string} closing the event of the end
 */
async function listening(server, open, closing) {
  await new Promise(resolve => server.listen(0, resolve))
  let closed = Promise.resolve()
  return {
    dial() {
      const socket = open(/** @type {any} */ (server.address()).port)
      closed = new Promise(resolve => socket.on(closing, resolve))
      return socket
    },
    async end() {
      await closed
      server.closeAllConnections()
      server.close()
    }
  }
}

if (ws !== null) {
  for (const [kind, serve] of Object.entries(KINDS)) {
    libraries(`${kind}: messages travel in both directions over a link`, async () => {
      const { dial, end } = await serve(echo)
      const socket = dial()
      const channel = connect(socket, 'echo')
      assert.equal(await exchange(channel), MESSAGES)
      channel.close()
      socket.close()
      await end()
    })

    libraries(`${kind}: messages travel in both directions over a session`, async () => {
      const { dial, end } = await serve(socket => accept(socket, echo))
      const channel = connect(dial, 'echo')
      assert.equal(await exchange(channel), MESSAGES)
      channel.close()
      await end()
    })

    libraries(`${kind}: numbers arrive once and in order while the server closes sockets`, async () => {
      const sockets = new Set()
      const options = { retry: 20, heartbeat: 200, timeout: 20_000 }
      let sessions = 0
      const { dial, end } = await serve(socket => {
        sockets.add(socket)
        accept(socket, session => {
          sessions++
          echo(session)
        }, options)
      })
      const channel = connect(dial, 'echo', options)
      const numbers = Array.from({ length: 100 }, (_, i) => i)
      const got = []
      for (const number of numbers) {
        await channel.send(number)
        if (number % 10 === 5) {
          for (const socket of sockets) socket.terminate?.() ?? socket.conn?.close()
          sockets.clear()
        }
        got.push(await channel.receive())
      }
      channel.close()
      assert.equal([got, sessions], [numbers, 1])
      await end()
    })
  }

  libraries('ws: a refused connection fails a link, with the error as reason', async () => {
    const error = await failure(connect(new ws('ws://localhost:1'), 'x').receive())
    assert.instance(error, ChannelError)
    assert.is(error.reason.code, 'ECONNREFUSED')
  })

  libraries('ws: refused connections fail a session at its timeout, with the error as cause', async () => {
    let dials = 0
    const dial = () => {
      dials++
      return new ws('ws://localhost:1')
    }
    const error = await failure(connect(dial, 'x', { timeout: 500 }).receive())
    assert.instance(error, ChannelError)
    assert.is(error.cause.code, 'ECONNREFUSED')
    assert.ok(dials > 1)
  })

  libraries('ws: close() while a socket connects ends the session without an error', async () => {
    const { dial, end } = await KINDS.ws(() => {})
    const channel = connect(dial, 'x')
    channel.close()
    assert.is(channel.closed, true)
    await end()
  })

  libraries('ws: a message above maxPayload of the socket arrives in parts', async () => {
    const { dial, end } = await KINDS.ws(socket => accept(socket, echo), { maxPayload: 100_000 })
    let dials = 0
    const channel = connect(() => {
      dials++
      return dial()
    }, 'echo')
    await channel.send(new Uint8Array(300_000).fill(5))
    assert.equal([(await channel.receive()).length, dials], [300_000, 1])
    channel.close()
    await end()
  })

  libraries('ws: a message fails with the reason if the socket does not accept its parts', async () => {
    const { dial, end } = await KINDS.ws(socket => accept(socket, echo, { timeout: 1000 }), { maxPayload: 20_000 })
    const channel = connect(dial, 'echo', { timeout: 1000 })
    await channel.send(1)
    assert.is(await channel.receive(), 1)
    const error = await failure(channel.send(new Uint8Array(300_000)))
    assert.instance(error, ChannelError)
    assert.match(error.message, 'the line closed with code 1009, message too big')
    await end()
  })

  // kill-sockets.mjs cuts after every byte.
  libraries('ws: messages arrive once and in order through a proxy that cuts after any byte', async () => {
    const { run, close } = await openCuttingProxy(ws)
    await forSeeds(20, async random => { assert.ok(await run(random.integer(1, 1200)) >= 3) })
    await run(50_000)
    close()
  })
}

libraries.run()
