// Kill test of sessions over `ws`: a TCP proxy cuts two connections of each case after every byte, in the
// upgrade, in the headers of WebSocket messages and in frames.
//
//   node test/addons/connect/kill-sockets.mjs [from] [to] [step]    default 1 1200 1, about four minutes
import { openCuttingProxy } from '../../support/cutting-proxy.mjs'
import { importPeers } from '../../support/peers.mjs'

const [from = 1, to = 1200, step = 1] = process.argv.slice(2).map(Number)
process.env.REQUIRE_PEERS = '1'
const [{ default: ws }] = await importPeers('ws')
const { run } = await openCuttingProxy(ws)

const cases = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step)
const { length } = cases
const total = { connections: 0, failed: 0 }
await Promise.all(Array.from({ length: 8 }, async () => {
  for (let bytes = cases.shift(); bytes !== undefined; bytes = cases.shift()) {
    try {
      const connections = await run(bytes)
      total.connections += connections
    } catch (error) {
      total.failed++
      console.log(error.message)
    }
  }
}))
console.log(`${length} cases, ${total.connections} connections, ${total.failed} failed`)
process.exit(Math.min(total.failed, 1))
