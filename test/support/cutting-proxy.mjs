/**
 * Sessions over the WebSockets of `ws`, through a TCP proxy that cuts connections after a number of bytes.
 */
import * as assert from 'uvu/assert'
import net from 'node:net'
import { accept, connect } from '../../addons/connect.mjs'

const OPTIONS = { retry: 5, heartbeat: 500, timeout: 20_000 }
const NUMBERS = [0, 1, 2, 3, 4]
/** The message with this number has 100 kB. */
const LARGE = 2
/** Connections of each case that are cut. */
const CUTS = 2
/** Time limit of a case, ms. */
const PATIENCE = 30_000

/**
 * Starts a server that echoes messages over sessions.
 *
 * @param {any} ws the constructor of the npm package
 * @returns {Promise<{ run(bytes: number): Promise<number>, close(): void }>} `run` exchanges messages while
 *   the proxy cuts the first two connections after `bytes` bytes, and checks that each message arrives once
 *   and in order. It resolves to the number of connections
 */
export async function openCuttingProxy(ws) {
  /** Numbers that the server received, by the number of the case. @type {Map<number, any[]>} */
  const received = new Map()
  const server = new ws.WebSocketServer({ port: 0 })
  await new Promise(resolve => server.on('listening', resolve))
  const { port } = server.address()
  server.on('connection', socket => accept(socket, async session => {
    const channel = connect(session, 'data')
    const numbers = []
    try {
      received.set((await channel.receive()).case, numbers)
      for await (const message of channel) {
        numbers.push(message.number)
        await channel.send(message)
      }
    } catch (error) {
      numbers.push(String(error))
    }
  }, OPTIONS))

  async function exchange(bytes, address) {
    const channel = connect(() => new ws(address), 'data', OPTIONS)
    const echoed = []
    await channel.send({ case: bytes })
    for (const number of NUMBERS) {
      await channel.send({ number, body: number === LARGE ? new Uint8Array(100_000).fill(7) : null })
      const { number: back, body } = await channel.receive()
      assert.ok(number === LARGE ? body.length === 100_000 && body.every(byte => byte === 7) : body === null, 'a body has changed')
      echoed.push(back)
    }
    channel.close()
    assert.equal([echoed, received.get(bytes)], [NUMBERS, NUMBERS])
  }

  return {
    async run(bytes) {
      let connections = 0
      const proxy = net.createServer(client => pipe(client, port, connections++ < CUTS ? bytes : Infinity))
      await new Promise(resolve => proxy.listen(0, resolve))
      let timer
      const limit = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`stuck for ${PATIENCE / 1000} s`)), PATIENCE)
      })
      try {
        await Promise.race([exchange(bytes, `ws://localhost:${proxy.address().port}`), limit])
      } catch (error) {
        error.message = `cut after ${bytes} bytes: ${error.message}`
        throw error
      } finally {
        clearTimeout(timer)
        proxy.close()
      }
      return connections
    },
    close: () => server.close()
  }
}

/** Forwards bytes in both directions, and cuts the connection after `limit` bytes. */
function pipe(client, port, limit) {
  let seen = 0
  const upstream = net.connect(port)
  for (const [socket, other] of [[client, upstream], [upstream, client]]) {
    socket.on('data', data => {
      const left = limit - seen
      seen += data.length
      if (data.length < left) return other.write(data)
      other.end(data.subarray(0, left))
      setImmediate(() => {
        client.destroy()
        upstream.destroy()
      })
    })
    socket.on('error', () => {})
    socket.on('close', () => other.destroy())
  }
}
